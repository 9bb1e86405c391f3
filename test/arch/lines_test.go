package arch_test

import (
	"bytes"
	"go/scanner"
	"go/token"
	"strings"
	"testing"
	"unicode/utf8"
)

const (
	longestLine = 110 // columns
	tabWidth    = 4   // columns
)

// TestLines: no line of a program is longer than what is read without moving the head. Texts in quotes do not count,
// because a text that is broken cannot be searched for. Tests may have longer lines: a row of a table is one line.
func TestLines(t *testing.T) {
	t.Parallel()
	for _, f := range trackedFiles(t) {
		if !strings.HasSuffix(f.path, ".go") || strings.HasSuffix(f.path, "_test.go") || strings.HasPrefix(f.path, "test/") {
			continue
		}
		for _, line := range longLines(f.content) {
			t.Errorf("%s:%d: more than %d columns: break the line, or put its comment above it", f.path, line, longestLine)
		}
	}
}

// longLines returns the numbers of the lines that are too long.
func longLines(source []byte) (long []int) {
	columns := []int{0}
	for line := range bytes.Lines(source) {
		line = bytes.TrimRight(line, "\n")
		columns = append(columns, utf8.RuneCount(line)+(tabWidth-1)*bytes.Count(line, []byte("\t")))
	}
	files := token.NewFileSet()
	file := files.AddFile("", -1, len(source))
	var s scanner.Scanner
	s.Init(file, source, nil, scanner.ScanComments)
	for {
		pos, tok, text := s.Scan()
		if tok == token.EOF {
			break
		}
		directive := tok == token.COMMENT && (strings.HasPrefix(text, "//nolint:") || strings.HasPrefix(text, "//go:"))
		if tok != token.STRING && !directive {
			continue
		}
		line := file.Line(pos)
		if parts := strings.Split(text, "\n"); len(parts) > 1 {
			for i := range parts {
				columns[line+i] = 0
			}
		} else {
			columns[line] -= utf8.RuneCountInString(text)
		}
	}
	for line, n := range columns {
		if n > longestLine {
			long = append(long, line)
		}
	}
	return long
}

func TestLongLines(t *testing.T) {
	t.Parallel()
	code := strings.Repeat("a", longestLine-len("var  = 1"))
	for source, want := range map[string]int{
		"package a\n\nvar " + code + " = 1\n":                                0,
		"package a\n\nvar " + code + "b = 1\n":                               1,
		"package a\n\nfunc f() {\n\tvar " + code + " = 1\n}\n":               1,
		"package a\n\nvar s = \"" + code + code + "\"\n":                     0,
		"package a\n\nvar s = `\n" + code + code + "`\n":                     0,
		"package a\n\n// " + code + code + "\n":                              1,
		"package a\n\nvar s = 1 //nolint:x // " + code + code + "\n":         0,
		"package a\n\nvar s = 1 // " + code + "\nvar b = \"" + code + "\"\n": 1,
	} {
		if got := longLines([]byte(source)); len(got) != want {
			t.Errorf("%q: %d are too long, want %d", source, len(got), want)
		}
	}
}
