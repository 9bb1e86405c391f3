package diff

import (
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/gorosbag/gorosbag/internal/bags/diff/report"
	"github.com/gorosbag/gorosbag/internal/ros/msgdiff"
	"github.com/gorosbag/gorosbag/rosmsg"
)

// compareValues says how a field differs.
func compareValues(d msgdiff.Difference) report.Change {
	a, b := d.A, d.B
	sameKind := a.Kind() == b.Kind()
	switch {
	case sameKind && a.Kind() == rosmsg.Array && a.Bytes() != nil && b.Bytes() != nil:
		return compareBytes(d.Path, a.Bytes(), b.Bytes())
	case sameKind && a.Kind() == rosmsg.String:
		x, y := compareTexts(a.Text(), b.Text())
		return report.Change{Path: d.Path, A: x, B: y}
	}
	c := report.Change{Path: d.Path, A: valueText(a), B: valueText(b)}
	switch {
	case !sameKind && a.Kind() != 0 && b.Kind() != 0:
		c.A, c.B = c.A+" ("+a.Type()+")", c.B+" ("+b.Type()+")"
	case c.A == c.B:
		c.Note = "by other bytes"
	}
	return c
}

// valueText prints a value in a few words.
func valueText(v rosmsg.Value) string {
	switch v.Kind() {
	case rosmsg.Bool, rosmsg.Int8, rosmsg.Int16, rosmsg.Int32, rosmsg.Int64, rosmsg.Uint8, rosmsg.Uint16,
		rosmsg.Uint32, rosmsg.Uint64,
		rosmsg.Float32, rosmsg.Float64:
		x, _ := v.Decode() // of a number the bytes are there, as msgdiff has read them
		return fmt.Sprint(x)
	case rosmsg.String:
		return strconv.Quote(report.Shortened(v.Text()))
	case rosmsg.Time:
		t := v.Time()
		if t.Nsecs >= 1e9 { // as it is: what it is compared with may be the same time
			return fmt.Sprintf("%d s and %d ns", t.Secs, t.Nsecs)
		}
		return fmt.Sprintf("%d.%09d", t.Secs, t.Nsecs)
	case rosmsg.Duration:
		d := v.Duration()
		return (time.Duration(d.Secs)*time.Second + time.Duration(d.Nsecs)).String()
	case rosmsg.Array:
		return fmt.Sprintf("%d elements", v.Len())
	case rosmsg.Struct:
		return v.Type()
	}
	return "absent"
}

// compareBytes says where bytes differ.
func compareBytes(path string, a, b []byte) report.Change {
	n := min(len(a), len(b))
	first, differ := n, 0
	for i := range n {
		if a[i] != b[i] {
			if differ++; differ == 1 {
				first = i
			}
		}
	}
	size := fmt.Sprintf("%d of %d bytes differ", differ, n)
	if len(a) != len(b) {
		size = fmt.Sprintf("%d bytes, %d in B; %d of %d differ", len(a), len(b), differ, n)
	}
	at := func(p []byte) string {
		if first >= len(p) {
			return "end"
		}
		return strconv.Itoa(int(p[first]))
	}
	place := fmt.Sprintf("%s[%d]", path, first)
	if path == "" {
		place = fmt.Sprintf("byte %d", first)
	}
	return report.Change{Path: place, A: at(a), B: at(b), Note: size}
}

// compareTexts quotes two strings, from shortly before where they differ.
func compareTexts(a, b string) (x, y string) {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	const before = 20
	cut := max(0, n-before)
	if cut > 0 && max(len(a), len(b)) > report.MaxText {
		for cut < n && !utf8.RuneStart(a[cut]) {
			cut++
		}
		return "..." + strconv.Quote(report.Shortened(a[cut:])),
			"..." + strconv.Quote(report.Shortened(b[cut:]))
	}
	return strconv.Quote(report.Shortened(a)), strconv.Quote(report.Shortened(b))
}
