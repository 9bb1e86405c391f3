package expr_test

import (
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/internal/bags/expr"
)

// TestBags: an expression about a bag sees its fields. The names of topics need no leading slash.
func TestBags(t *testing.T) {
	t.Parallel()
	parse := func(text string) (float64, error) {
		at, err := time.Parse(time.DateOnly, text)
		return float64(at.Unix()), err
	}
	b := &expr.Bag{
		Bag: "x.bag", Size: 1000, Start: float64(time.Now().Unix() - 60), Duration: 5, Topics: []string{"/a", "/b"}, Types: []string{"p/A", "p/B"},
		Notes: map[string]string{"robot": "r1"}, Topic: "/a", Type: "p/A",
	}
	for text, want := range map[string]bool{
		`len(topics) == 2`:                         true,
		`"a" in topics`:                            true,
		`"c" in topics`:                            false,
		`any(topics, # == "b")`:                    true,
		`any(topics, "b" == #)`:                    true,
		`any(topics, # in ["c", "b"])`:             true,
		`all(topics, # != "b")`:                    false,
		`any(topics, # startsWith "/b")`:           true,
		`any(topics, # contains "b")`:              true,
		`any(types, # == "p/B")`:                   true,
		`topic == "a" and type == "p/A"`:           true,
		`notes.robot == "r1" and notes.none == ""`: true,
		`start > date("2026-11-01")`:               b.Start > float64(time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC).Unix()),
		`now() - start > 50 and now() < 1e10`:      true,
		`topics[5] == "/a"`:                        false,
	} {
		p, err := expr.CompileBags(text, parse)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got, err := p.Matches(b); got != want || err != nil {
			t.Errorf("%s: %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{`size >`, `size`, `nothing == 1`, `start > date(5)`} {
		if _, err := expr.CompileBags(text, parse); !errors.Is(err, expr.ErrExpression) {
			t.Errorf("%s: %v", text, err)
		}
	}
	p, err := expr.CompileBags(`start > date(robot) and topic in ["b", "/a"]`, parse)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"/a", "/b"}; !slices.Equal(p.Topics(), want) {
		t.Errorf("topics: %v", p.Topics())
	}
	b.Start = math.Inf(1)
	if _, err := p.Matches(b); !errors.Is(err, expr.ErrExpression) {
		t.Errorf("a date that is none: %v", err)
	}
}
