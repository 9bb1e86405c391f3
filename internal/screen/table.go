package screen

import (
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"
	"unicode/utf8"
)

// table draws columns of numbers, right aligned, before a last column of text.
type table struct {
	text strings.Builder
	tw   *tabwriter.Writer
}

func newTable(heads ...any) *table {
	t := new(table)
	t.tw = tabwriter.NewWriter(&t.text, 0, 8, 2, ' ', tabwriter.AlignRight)
	t.row(heads...)
	return t
}

func (t *table) row(cells ...any) {
	for _, c := range cells[:len(cells)-1] {
		fmt.Fprintf(t.tw, "%v\t", c) //nolint:errcheck // a strings.Builder takes everything
	}
	fmt.Fprintf(t.tw, "  %v\n", cells[len(cells)-1]) //nolint:errcheck // a strings.Builder takes everything
}

// lines ends the table.
func (t *table) lines() string {
	t.tw.Flush() //nolint:errcheck,gosec // a strings.Builder takes everything
	return t.text.String()
}

// Plain returns s for a terminal: as it is, or quoted if it holds control characters, or bytes
// that are no UTF-8, which could otherwise drive the terminal.
func Plain(s string) string {
	if !utf8.ValidString(s) || strings.ContainsFunc(s, func(r rune) bool { return !strconv.IsPrint(r) }) {
		return strconv.Quote(s)
	}
	return s
}
