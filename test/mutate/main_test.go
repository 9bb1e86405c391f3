package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestAreas: each area has its files, and tests in each of its folders. Two areas of one package
// would have the same switches.
func TestAreas(t *testing.T) {
	t.Chdir("../..")
	dirs := map[string]string{}
	for _, a := range areas {
		if other, ok := dirs[a.dir]; ok {
			t.Errorf("%s and %s are the same package", a.name, other)
		}
		dirs[a.dir] = a.name
		folders := a.folders()
		if len(folders) == 0 {
			t.Errorf("%s: no tests", a.name)
		}
		for folder := range strings.FieldsSeq(a.tests) {
			if !slices.Contains(folders, folder) {
				t.Errorf("%s: no tests in %s", a.name, folder)
			}
		}
		for file := range strings.FieldsSeq(a.files) {
			if _, err := os.Stat(a.dir + "/" + file + ".go"); err != nil {
				t.Errorf("%s: %v", a.name, err)
			}
		}
	}
}

func TestMutants(t *testing.T) {
	const begin = "package x\n\nvar c chan int; var ok bool; var s string\n"
	for _, c := range []struct {
		src  string
		want []string
	}{
		{"var less = 1 <= 2", []string{"var less = 1 < 2", "var less = 1 > 2"}},
		{"var sum = -1 + 2", []string{"var sum = +1 + 2", "var sum = -1 - 2"}},
		{"var é, p = 4 &^ 1, &c", []string{"var é, p = 4 & 1, &c"}},
		{"func f(n int) { for { n++; n -= 2; break } }", []string{
			"func f(n int) { for { n--; n -= 2; break } }",
			"func f(n int) { for { n++; n += 2; break } }",
			"func f(n int) { for { n++; n -= 2; continue } }",
		}},
		{"func f(p *int) bool { return !ok && *p == <-c }", []string{
			"func f(p *int) bool { return !ok || *p == <-c }",
			"func f(p *int) bool { return !ok && *p != <-c }",
		}},
		{`func f() { s += "a" + s }`, nil},   // there is no other operator for strings
		{"type n[N int | float64] []N", nil}, // nor for types
	} {
		code := parse(t, begin+c.src)
		var got []string
		for _, m := range code.mutants(code.files[0]) {
			got = append(got, strings.TrimPrefix(string(m.apply(code.files[0].text)), begin))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.src, got, c.want)
		}
	}
}

// parse returns a package of one file, without imports.
func parse(t *testing.T, src string) *code {
	t.Helper()
	code, err := check("x", []string{"x.go"}, func(string) ([]byte, error) { return []byte(src), nil }, nil)
	if err != nil {
		t.Fatal(err)
	}
	return code
}

// TestTry: what becomes of mutants with a switch and without one.
func TestTry(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"go.mod": "module example.org/x\n\ngo 1.26\n",
		"x/x.go": `package x

import (
	stamps "time"

	"example.org/x/y"
)

const limit = 2 * 5

func In(n int) bool { return n >= 0 && n < limit || n == 100 && n>>1 == 50 }

func Sum(ns ...int) (sum int) {
	for i := 0; i < len(ns); i++ {
		if ns[i] == 0 {
			break
		}
		sum += ns[i]
	}
	return sum
}

func First(ns []int, c byte) int {
	for i := 0; ; i++ {
		switch {
		case i == len(ns):
			return -1
		case ns[i] < 0:
			continue
		}
		func() {
			switch c {
			case 'a':
				break
			default:
				c++
			}
		}()
		return ns[i] + int(c) - 'b'
	}
}

func Twice(d stamps.Duration) stamps.Duration { return 2 * d }

func Opposite(n int) int { return -n }

func Both() bool { return y.One|y.Two() == 3 }

func Unused(n int) int { return n + 1 }

func Max(a, b int) int {
	if a > b {
		return a
	}
	return b
}
`,
		"y/y.go": `package y

type flags int

const One flags = 1

func Two() flags { return 2 }
`,
		"x/x_test.go": `package x

import "testing"

func TestIn(t *testing.T) {
	for n, want := range map[int]bool{-1: false, 0: true, 9: true, 10: false, 100: true, 101: false} {
		if In(n) != want {
			t.Error(n)
		}
	}
}

func ExampleUnused() { // does not match
	Unused(1)
	// Output:
}

func TestOthers(t *testing.T) {
	if First([]int{-1, 2}, 'a') != 1 || First([]int{2}, 'b') != 3 || First([]int{0}, 'b') != 1 || First(nil, 'a') != -1 {
		t.Error("first")
	}
	if Sum(1, 2, 0, 3) != 3 || Sum(1) != 1 || Twice(3) != 6 || Opposite(1) != -1 || !Both() || Max(1, 2) != 2 || Max(2, 1) != 2 {
		t.Error("others")
	}
}
`,
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	a := &area{name: "x", dir: "x"}
	code, err := load(t.Context(), a.dir)
	if err != nil {
		t.Fatal(err)
	}
	all, err := a.list(code)
	if err != nil {
		t.Fatal(err)
	}
	if err := tryAll(t.Context(), []*areaMutants{{a, code, len(all), all}}, regexp.MustCompile("^Test")); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range all {
		if m.status != killed && m.status != notViable {
			got = append(got, m.String())
		}
	}
	want := []string{
		"NOT REACHED: x/x.go:49:35: + becomes -",
		"LIVED: x/x.go:52:7: > becomes >=", // the same
	}
	if !slices.Equal(got, want) {
		t.Errorf("not killed:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestFolders: the tests of an area itself come before those that other areas share, which run once.
func TestFolders(t *testing.T) {
	t.Chdir("../..")
	got := folders([]*areaMutants{
		{area: &area{dir: "bagfmt"}},
		{area: &area{dir: "bagfmt/chunk", tests: "bagfmt"}},
		{area: &area{dir: "bagfmt/internal/wire", tests: "bagfmt/internal/search bagfmt"}},
	})
	if want := []string{"bagfmt/chunk", "bagfmt/internal/wire", "bagfmt", "bagfmt/internal/search"}; !slices.Equal(got, want) {
		t.Errorf("folders %v, want %v", got, want)
	}
}

// TestBatches: a mutant with a switch is tried with the tests that reach it, the fast ones first.
func TestBatches(t *testing.T) {
	reaching := map[int]bool{1: true}
	s := &suite{tests: []*test{
		{name: "slow", took: nextBatch * firstBatch, reaches: reaching},
		{name: "other"},
		{name: "half", took: firstBatch / 2, reaches: reaching},
		{name: "more", took: firstBatch/2 + 1, reaches: reaching},
		{name: "long", took: time.Hour, reaches: reaching},
	}}
	for id, want := range map[int]string{0: "other half|more|slow|long", 1: "half|more|slow|long", 2: ""} {
		var batches []string
		for _, b := range s.batches(id) {
			var names []string
			for _, t := range b {
				names = append(names, t.name)
			}
			batches = append(batches, strings.Join(names, " "))
		}
		if got := strings.Join(batches, "|"); got != want {
			t.Errorf("mutant %d: %s, want %s", id, got, want)
		}
	}
}

// TestVerdict: a test that fails ends the program, unless a timeout has ended the test. The output comes
// in pieces.
func TestVerdict(t *testing.T) {
	const failure, timeout = "--- FAIL: TestX (0.00s)\n", "panic: test timed out after 10s\n"
	for output, want := range map[string]struct{ failed, timedOut bool }{
		"ok\nPASS\n":               {},
		"x\n" + failure + "FAIL\n": {failed: true},
		"x\n" + timeout + failure:  {timedOut: true},
		"panic: x\n":               {},
	} {
		for size := 1; size <= len(output); size++ {
			failed := false
			v := &verdict{failed: func() { failed = true }}
			for piece := range slices.Chunk([]byte(output), size) {
				if n, err := v.Write(piece); n != len(piece) || err != nil {
					t.Fatal(n, err)
				}
			}
			if failed != want.failed || v.timedOut != want.timedOut {
				t.Errorf("%q in pieces of %d: failed %v, timed out %v", output, size, failed, v.timedOut)
			}
			if len(v.tail) >= len(signOfTimeout) {
				t.Errorf("%q: keeps %q", output, v.tail)
			}
		}
	}
}

func TestSample(t *testing.T) {
	list := func(order ...int) (all []*mutant) {
		for _, line := range order {
			for _, path := range []string{"a.go", "b.go"} {
				m := &mutant{path: path}
				m.pos.Line, m.pos.Offset = line, 10*line
				all = append(all, m)
			}
		}
		return all
	}
	places := func(ms []*mutant) (places []string) {
		for _, m := range ms {
			places = append(places, m.place())
		}
		return places
	}
	every := regexp.MustCompile("")
	one := places(choose(list(1, 2, 3, 4, 5), every, 2, 7))
	if len(one) != 4 || !slices.IsSorted(one) {
		t.Errorf("a sample of two of each file: %v", one)
	}
	if again := places(choose(list(1, 2, 3, 4, 5), every, 2, 7)); !slices.Equal(one, again) {
		t.Errorf("samples with one seed: %v and %v", one, again)
	}
	if got := places(choose(list(1, 2, 3), regexp.MustCompile(`^a\.go:[13]:`), 0, 1)); !slices.Equal(got, []string{"a.go:1:0", "a.go:3:0"}) {
		t.Errorf("chosen by place: %v", got)
	}
}
