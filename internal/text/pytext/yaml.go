package pytext

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/gorosbag/gorosbag/internal/text/lazyre"
)

// yamlWidth is the column after which long text is folded.
const yamlWidth = 80

// yamlIndent is the indentation of folded lines, in addition to that of the message around them.
const yamlIndent = 2

// AppendString appends a string as rostopic echo prints one that is no item of a list: between double
// quotes. An empty string is two single quotes.
func AppendString(dst, b []byte) []byte {
	if len(b) == 0 {
		return append(dst, "''"...)
	}
	if len(b) < yamlWidth && PlainASCII(b) == len(b) {
		dst = append(dst, '"')
		dst = append(dst, b...)
		return append(dst, '"')
	}
	w := yamlWriter{dst: dst}
	w.double([]rune(string(AppendValid(nil, b))))
	return w.dst
}

// PlainASCII returns the number of bytes before the first byte of b that needs an escape between double
// quotes or is not ASCII.
func PlainASCII(b []byte) int {
	for i, c := range b {
		if c < ' ' || c > '~' || c == '"' || c == '\\' {
			return i
		}
	}
	return len(b)
}

// AppendItem appends a string as PyYAML prints an item of a list, "- " included, in the simplest style that
// reads back the same. The list is indented by indent columns: further lines of the item begin with as many
// blanks.
func AppendItem(dst, b []byte, indent int) []byte {
	text := string(AppendValid(nil, b))
	w := yamlWriter{dst: append(dst, "- "...), column: 2, margin: indent}
	runes := []rune(text)
	switch f := analyze(runes); {
	case f.plain && !isImplicit(text):
		w.words(runes, false)
	case f.single:
		w.put("'")
		w.words(runes, true)
		w.put("'")
	default:
		w.double(runes)
	}
	return w.dst
}

// yamlWriter writes one scalar and counts columns for folding.
type yamlWriter struct {
	dst    []byte
	column int
	margin int // blanks before each further line, which column does not count
}

func (w *yamlWriter) put(s string) {
	w.dst = append(w.dst, s...)
	w.column += utf8.RuneCountInString(s)
}

func (w *yamlWriter) newline() {
	w.dst = append(w.dst, '\n')
	w.dst = append(w.dst, strings.Repeat(" ", w.margin)...)
	w.column = 0
}

// fold goes on on the next line.
func (w *yamlWriter) fold() {
	w.newline()
	w.put(strings.Repeat(" ", yamlIndent))
}

var yamlEscapes = map[rune]string{
	0: "0", 7: "a", 8: "b", 9: "t", 10: "n", 11: "v", 12: "f", 13: "r", 0x1b: "e", '"': `"`, '\\': `\`,
	0x85: "N", 0xa0: "_", 0x2028: "L", 0x2029: "P",
}

func yamlEscape(r rune) string {
	if short, ok := yamlEscapes[r]; ok {
		return `\` + short
	}
	switch {
	case r <= 0xff:
		return fmt.Sprintf(`\x%02X`, r)
	case r <= 0xffff:
		return fmt.Sprintf(`\u%04X`, r)
	}
	return fmt.Sprintf(`\U%08X`, r)
}

// double writes text between double quotes. A line ends after its last blank or
// escape that is not beyond the width, with a backslash.
func (w *yamlWriter) double(text []rune) {
	w.put(`"`)
	start := 0
	for i := 0; i <= len(text); i++ {
		last := i == len(text)
		if last || text[i] == '"' || text[i] == '\\' || text[i] < ' ' || text[i] > '~' {
			w.put(string(text[min(start, i):i]))
			start = i
			if !last {
				w.put(yamlEscape(text[i]))
				start = i + 1
			}
		}
		if i == 0 || i >= len(text)-1 || text[i] != ' ' && start < i || w.column+i-start <= yamlWidth {
			continue
		}
		if start < i {
			w.put(string(text[start:i]))
			start = i
		}
		w.put(`\`)
		w.fold()
		if text[start] == ' ' {
			w.put(`\`)
		}
	}
	w.put(`"`)
}

// words writes text plainly, or as it is between single quotes: a line is folded at
// a single blank, and a line break is written as an empty line.
func (w *yamlWriter) words(text []rune, quoted bool) {
	for i := 0; i < len(text); {
		end := i
		switch text[i] {
		case ' ':
			for end < len(text) && text[end] == ' ' {
				end++
			}
			inside := !quoted || i > 0 && end < len(text)
			if end == i+1 && w.column > yamlWidth && inside {
				w.fold()
			} else {
				w.put(string(text[i:end]))
			}
		case '\n':
			for w.newline(); end < len(text) && text[end] == '\n'; end++ {
				w.newline()
			}
			w.put(strings.Repeat(" ", yamlIndent))
		case '\'':
			end++
			if quoted {
				w.put("'")
			}
			w.put("'")
		default:
			for end < len(text) && text[end] != ' ' && text[end] != '\n' && text[end] != '\'' {
				end++
			}
			w.put(string(text[i:end]))
		}
		i = end
	}
}

// styles are those that a string may have.
type styles struct{ plain, single bool }

// analyze finds the styles that keep the text what it is.
func analyze(text []rune) styles {
	if len(text) == 0 {
		return styles{plain: true, single: true}
	}
	s := styles{plain: true, single: true}
	if start := string(text[:min(3, len(text))]); start == "---" || start == "..." {
		s.plain = false
	}
	blank := func(i int) bool {
		return i >= len(text) || strings.ContainsRune("\x00 \t\r\n\u0085\u2028\u2029", text[i])
	}
	for i, r := range text {
		if i == 0 && strings.ContainsRune("#,[]{}&*!|>'\"%@`", r) ||
			i == 0 && strings.ContainsRune("?:-", r) && blank(1) ||
			i > 0 && r == ':' && blank(i+1) ||
			i > 0 && r == '#' && blank(i-1) {
			s.plain = false
		}
		switch {
		case r == '\n':
			s.plain = false
			if i > 0 && text[i-1] == ' ' {
				return styles{} // a blank before a line break would be lost
			}
		case r < ' ' || r > '~':
			return styles{}
		case r == ' ' && i > 0 && text[i-1] == '\n':
			s = styles{}
		}
	}
	if first, last := text[0], text[len(text)-1]; first == ' ' || last == ' ' {
		s.plain = false
	}
	return s
}

// implicits are plain scalars that YAML would read as something else than a string,
// and the first characters that they have.
var implicits = []struct {
	first string
	whole func() *regexp.Regexp
}{
	{"yYnNtTfFoO", lazyre.New(`^(yes|Yes|YES|no|No|NO|true|True|TRUE|false|False|FALSE|on|On|ON|off|Off|OFF)$`)},
	{
		"-+0123456789.",
		lazyre.New(`^([-+]?[0-9][0-9_]*\.[0-9_]*([eE][-+][0-9]+)?|\.[0-9][0-9_]*([eE][-+][0-9]+)?` +
			`|[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+\.[0-9_]*|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN))$`),
	},
	{
		"-+0123456789",
		lazyre.New(`^([-+]?0b[0-1_]+|[-+]?0[0-7_]+|[-+]?(0|[1-9][0-9_]*)|[-+]?0x[0-9a-fA-F_]+|[-+]?[1-9][0-9_]*(:[0-5]?[0-9])+)$`),
	},
	{"<", lazyre.New(`^<<$`)},
	{"~nN", lazyre.New(`^(~|null|Null|NULL)$`)},
	{"0123456789", lazyre.New(`^([0-9]{4}-[0-9]{2}-[0-9]{2}|[0-9]{4}-[0-9][0-9]?-[0-9][0-9]?([Tt]|[ \t]+)[0-9][0-9]?` +
		`:[0-9]{2}:[0-9]{2}(\.[0-9]*)?([ \t]*(Z|[-+][0-9][0-9]?(:[0-9]{2})?))?)$`)},
	{"=", lazyre.New(`^=$`)},
}

// isImplicit reports whether YAML would read the text as something else than a string.
func isImplicit(text string) bool {
	if text == "" {
		return true
	}
	for _, p := range implicits {
		if strings.Contains(p.first, text[:1]) && p.whole().MatchString(text) {
			return true
		}
	}
	return false
}
