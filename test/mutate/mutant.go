package main

import (
	"cmp"
	"fmt"
	"go/scanner"
	"go/token"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
)

// mutant is one changed operator, as gremlins lists it.
type mutant struct {
	Type   string
	Status string
	Line   int
	Column int // in bytes, from 1
	path   string
}

// The statuses of a mutant.
const (
	notViable = "NOT VIABLE" // does not compile
	killed    = "KILLED"
	timedOut  = "TIMED OUT"
	lived     = "LIVED"
)

func (m *mutant) String() string {
	return fmt.Sprintf("%s: %s at %s", m.Status, m.Type, m.place())
}

func (m *mutant) place() string {
	return fmt.Sprintf("%s:%d:%d", m.path, m.Line, m.Column)
}

// replacements says what each type of mutant puts in the place of an operator.
var replacements = map[string]map[token.Token]string{
	"ARITHMETIC_BASE":       {token.ADD: "-", token.SUB: "+", token.MUL: "/", token.QUO: "*", token.REM: "*"},
	"CONDITIONALS_BOUNDARY": {token.GEQ: ">", token.GTR: ">=", token.LEQ: "<", token.LSS: "<="},
	"CONDITIONALS_NEGATION": {token.EQL: "!=", token.NEQ: "==", token.GEQ: "<", token.GTR: "<=", token.LEQ: ">", token.LSS: ">="},
	"INCREMENT_DECREMENT":   {token.INC: "--", token.DEC: "++"},
	"INVERT_ASSIGNMENTS":    {token.ADD_ASSIGN: "-=", token.SUB_ASSIGN: "+=", token.MUL_ASSIGN: "/=", token.QUO_ASSIGN: "*=", token.REM_ASSIGN: "*="},
	"INVERT_BITWISE":        {token.AND: "|", token.OR: "&", token.XOR: "&", token.AND_NOT: "&", token.SHL: ">>", token.SHR: "<<"},
	"INVERT_BWASSIGN": {
		token.AND_ASSIGN: "|=", token.OR_ASSIGN: "&=", token.XOR_ASSIGN: "&=", token.AND_NOT_ASSIGN: "&=",
		token.SHL_ASSIGN: ">>=", token.SHR_ASSIGN: "<<=",
	},
	"INVERT_LOGICAL":   {token.LAND: "||", token.LOR: "&&"},
	"INVERT_LOOPCTRL":  {token.BREAK: "continue", token.CONTINUE: "break"},
	"INVERT_NEGATIVES": {token.SUB: "+"},
}

// source returns the text of the file with the operator changed.
func (m *mutant) source() ([]byte, error) {
	src, err := os.ReadFile(m.path)
	if err != nil {
		return nil, err
	}
	file := token.NewFileSet().AddFile(m.path, -1, len(src))
	var s scanner.Scanner
	s.Init(file, src, nil, 0)
	for {
		pos, tok, _ := s.Scan()
		at := file.Position(pos)
		switch {
		case tok == token.EOF || at.Line > m.Line:
			return nil, fmt.Errorf("no operator at %s", m.place())
		case at.Line != m.Line || at.Column != m.Column:
			continue
		}
		with, ok := replacements[m.Type][tok]
		if !ok {
			return nil, fmt.Errorf("no mutant %s of %s at %s", m.Type, tok, m.place())
		}
		return slices.Concat(src[:at.Offset], []byte(with), src[at.Offset+len(tok.String()):]), nil
	}
}

// choose returns the mutants whose place matches only, in the order of the source: at most n
// of each file, chosen at random, or all with n 0.
func choose(all []*mutant, only *regexp.Regexp, n int, seed uint64) []*mutant {
	// A minus between two operands is listed as arithmetic and as a sign.
	same := func(a, b *mutant) bool {
		return a.place() == b.place() && min(a.Type, b.Type) == "ARITHMETIC_BASE" && max(a.Type, b.Type) == "INVERT_NEGATIVES"
	}
	inSource := func(a, b *mutant) int {
		return cmp.Or(cmp.Compare(a.path, b.path), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Type, b.Type))
	}
	files := map[string][]*mutant{}
	for _, m := range all {
		if only.MatchString(m.place()) {
			files[m.path] = append(files[m.path], m)
		}
	}
	var chosen []*mutant
	for _, ms := range files {
		slices.SortFunc(ms, inSource) // gremlins lists them in any order
		ms = slices.CompactFunc(ms, same)
		if n > 0 && len(ms) > n {
			r := rand.New(rand.NewPCG(seed, 0))
			r.Shuffle(len(ms), func(i, j int) { ms[i], ms[j] = ms[j], ms[i] })
			ms = ms[:n]
		}
		chosen = append(chosen, ms...)
	}
	slices.SortFunc(chosen, inSource)
	return chosen
}
