package termtext

import (
	"fmt"
	"strings"
	"text/tabwriter"
)

// Table draws columns of numbers, right aligned, before a last column of text.
type Table struct {
	text strings.Builder
	tw   *tabwriter.Writer
}

// NewTable returns a table with the heads of its columns.
func NewTable(heads ...any) *Table {
	t := new(Table)
	t.tw = tabwriter.NewWriter(&t.text, 0, 8, 2, ' ', tabwriter.AlignRight)
	t.Row(heads...)
	return t
}

// Row adds a row.
func (t *Table) Row(cells ...any) {
	for _, c := range cells[:len(cells)-1] {
		fmt.Fprintf(t.tw, "%v\t", c) //nolint:errcheck // a strings.Builder takes everything
	}
	fmt.Fprintf(t.tw, "  %v\n", cells[len(cells)-1]) //nolint:errcheck // a strings.Builder takes everything
}

// Text ends the table and returns it.
func (t *Table) Text() string {
	t.tw.Flush() //nolint:errcheck,gosec // a strings.Builder takes everything
	return t.text.String()
}

// Columns draws a table: the first columns right aligned, the others left. A column with
// nothing but a head is left out.
func Columns(rows [][]string, numbers int) string {
	widths := make([]int, len(rows[0]))
	for i, row := range rows {
		for j, cell := range row {
			if i > 0 && cell != "" {
				widths[j] = max(widths[j], Width(cell), Width(rows[0][j]))
			}
		}
	}
	var b strings.Builder
	for _, row := range rows {
		var line strings.Builder
		for j, cell := range row {
			switch {
			case widths[j] == 0:
				continue
			case j < numbers:
				line.WriteString(Right(cell, widths[j]) + "  ")
			default:
				line.WriteString(cell + strings.Repeat(" ", widths[j]-Width(cell)+2))
			}
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	return b.String()
}
