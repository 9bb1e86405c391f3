package screen

import (
	"fmt"
	"strings"
	"text/tabwriter"
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

// columns draws a table: the first columns right aligned, the others left. A column with
// nothing but a head is left out.
func columns(rows [][]string, numbers int) string {
	widths := make([]int, len(rows[0]))
	for i, row := range rows {
		for j, cell := range row {
			if i > 0 && cell != "" {
				widths[j] = max(widths[j], width(cell), width(rows[0][j]))
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
				line.WriteString(right(cell, widths[j]) + "  ")
			default:
				line.WriteString(cell + strings.Repeat(" ", widths[j]-width(cell)+2))
			}
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	return b.String()
}
