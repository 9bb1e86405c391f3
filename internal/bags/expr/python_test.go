package expr_test

import (
	"math"
	"strings"
	"testing"

	"github.com/gorosbag/gorosbag/internal/bags/expr"
)

// TestPythonNamesakes: functions that have the names of Python's have their meaning, or are errors that say what to write.
func TestPythonNamesakes(t *testing.T) {
	t.Parallel()
	var data []byte
	for _, f := range []float64{math.NaN(), math.Inf(1), 4.5} {
		data = leFloat(data, f)
	}
	data = append(data, 0, 0, 0, 0) // an empty list
	conn, m := message("/t", "test/Numbers", "float64 nan\nfloat64 inf\nfloat64 half\nfloat64[] none\n", data)
	for text, want := range map[string]string{ // empty: true
		"round(m.half) == 4": "", "round(5.5) == 6": "", "round(-0.5) == 0": "", "round(-1.5) == -2": "", "round(7) == 7": "", "round(2.6) == 3": "",
		"int(m.half) == 4": "", "int(-4.7) == -4": "", `int("12") == 12`: "", "(m.half | int()) == 4": "", "int(7) == 7": "",
		"int(m.nan) < 0": "int(NaN): no whole number of 64 bits", "int(m.inf) < 0": "int(+Inf): no whole", "int(9.3e18) < 0": "no whole number",
		"int(-9.2e18) < 0": "", `int("x") == 1`: "int(x)",
		"mean(m.none) == 0": "mean of an empty list", "median(m.none) == 0": "median of an empty list", "mean([1, 2]) == 1.5": "", "mean(3, m.none) == 3": "", "median([3, 1, 2]) == 2": "",
		"round(m.half, 1) == 4.5": "write round(x * 100) / 100 for round(x, 2)",
		"sum([1, 2], 10) == 13":   "write start + sum(list)",
		"sum([1, 2], # * 2) == 6": "",
		"10 + sum([1, 2]) == 13":  "",
		"len(m.none, 1) == 0":     "invalid number of arguments",
		"abs(-2) == 2 and max(1, 2) == 2 and min([2, 1]) == 1 and sum(m.none) == 0 and floor(-4.5) == -5 and ceil(4.2) == 5": "",
	} {
		p, err := expr.Compile(text)
		kept := false
		if err == nil {
			kept, err = p.Keep(conn, m)
		}
		switch {
		case want == "" && (err != nil || !kept):
			t.Errorf("%s: %v, %v", text, kept, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %v, %v; want %s", text, kept, err, want)
		}
	}
}

// leFloat appends a float64.
func leFloat(b []byte, f float64) []byte {
	n := math.Float64bits(f)
	for range 8 {
		b, n = append(b, byte(n)), n>>8
	}
	return b
}
