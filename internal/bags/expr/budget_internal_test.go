package expr

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/builtin"

	"github.com/gorosbag/gorosbag/internal/testkit"
	"github.com/gorosbag/gorosbag/rosmsg"
)

// values are what the expressions of these tests are about. As of the fields of messages, their
// types are not known before the evaluation.
type values struct {
	S       any `expr:"s"`
	Absent  any `expr:"absent"`
	Numbers any `expr:"numbers"`
	Many    any `expr:"many"`
	Bytes   any `expr:"bytes"`
	Strs    any `expr:"strs"`
	Pattern any `expr:"pattern"`
	I       any `expr:"i"`
	F       any `expr:"f"`
	JSON    any `expr:"json"`
	Pairs   any `expr:"pairs"`
	Deep    any `expr:"deep"`
}

func newValues() *values {
	numbers, text := make([]float64, 1000), strings.Repeat("abcdefghi ", 1000)
	many := make([]any, 100)
	for i := range many {
		many[i] = map[string]any{"name": text[i%10 : i%10+3], "level": i % 4, "list": []any{i, "x", []any{i}}}
	}
	for i := range numbers {
		numbers[i] = float64(i * 7 % 1000)
	}
	return &values{
		S: text, Numbers: numbers, Many: many, Bytes: []byte(text), Strs: strings.Fields(text), Pattern: "^abc.*i $", I: 5, F: 2.5,
		JSON: `{"a": [1, 2, {"b": null}]}`, Pairs: []any{[]any{"a", 1}}, Deep: map[string]any{"a": map[string]any{"b": 1}},
	}
}

// evaluate evaluates an expression about values.
func evaluate(t *testing.T, text string) (bool, error) {
	t.Helper()
	var m machine
	if err := m.compile(text, expr.Env(values{})); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return m.run(newValues(), 0)
}

// TestBudgetHolds: what would take too much fails, before it takes memory and soon.
func TestBudgetHolds(t *testing.T) { // not parallel: it measures the memory that is taken
	testkit.SkipUnlessFull(t, "forty expressions, each until its budget is spent, for four seconds of processor time")
	doubled := "let a0 = s + s; "
	for i := range 9 { // 5 MB
		doubled += fmt.Sprintf("let a%d = a%d + a%d; ", i+1, i, i)
	}
	limit := 4 * time.Second // of CPU time for each expression; the longest takes 0.8 s
	if testkit.Race {
		limit *= 10
	}
	for text, want := range map[string]error{
		`repeat(s, 1000000) == ""`:                                         errMemory,
		`repeat(s, 420) == ""`:                                             errMemory,
		doubled + `a9 == ""`:                                               errMemory,
		`reduce(1..100, #acc + #acc, s) == ""`:                             errMemory,
		`replace(s, "", s) == ""`:                                          errMemory,
		`replace(s, "a", s) == ""`:                                         errMemory,
		`join(strs, s) == ""`:                                              errMemory,
		`len(1..1000000) > 0`:                                              errMemory,
		`any(1..100, len(1..100000) < 0)`:                                  errMemory,
		`len(map(numbers, map(numbers, #))) > 0`:                           errMemory,
		`len(filter(1..200000, len(filter(1..200000, true)) > 0)) > 0`:     errMemory,
		`any(1..100, len(sortBy(numbers, #)) < 0)`:                         errMemory,
		`any(1..100, len(groupBy(numbers, #)) < 0)`:                        errMemory,
		`len(reduce(1..30, concat(#acc, #acc), numbers)) > 0`:              errMemory,
		`toJSON(reduce(1..30, [#acc, #acc], 0)) == ""`:                     errMemory,
		`flatten(reduce(1..30, [#acc, #acc], [1])) == []`:                  errMemory,
		`string(reduce(1..30, [#acc, #acc], 0)) == ""`:                     errMemory,
		`max(reduce(1..30, [#acc, #acc], 0)) == 1`:                         errSteps,
		`reduce(1..30, [#acc, #acc], 0) == reduce(1..30, [#acc, #acc], 0)`: errSteps,
		`toJSON(reduce(1..200, [#acc], 0)) == ""`:                          errNesting,
		`all(numbers, all(numbers, all(numbers, # >= 0)))`:                 errSteps,
		`all(numbers, none(numbers, # in strs))`:                           errSteps,
		`all(numbers, none(numbers, s + "x" == s))`:                        errMemory,
		`all(numbers, none(numbers, s contains "abcdefghi  "))`:            errSteps,
		`all(numbers, none(numbers, s matches "x+y"))`:                     errSteps,
		`all(numbers, none(numbers, s endsWith pattern))`:                  errSteps,
		`all(numbers, none(strs, len(s) == # ))`:                           errSteps,
		`none(numbers, s matches pattern + "x")`:                           errSteps,
		`s matches s`:                                                      errPattern,
		`any(1..20, len(split(s + s, "")) < 0)`:                            errMemory,
		`any(1..300, upper(s) == "")`:                                      errMemory,
		`any(1..300, toBase64(s) == "")`:                                   errMemory,
		`len(fromJSON("[" + repeat("{},", 30000) + "0]")) < 0`:             errMemory,
		`any(1..1000, len(uniq(numbers)) < 0)`:                             errSteps,
		`any(1..1000, len(sort(numbers)) < 0)`:                             errMemory,
		`any(1..1000, median(numbers) < 0)`:                                errMemory,
		`any(1..1000, len(keys(deep)) < 0 or len(reverse(numbers)) < 0)`:   errMemory,
		`all(numbers, none(numbers, trim(s, pattern) == "x"))`:             errSteps,
		`none(numbers, int(s) == 1)`:                                       nil, // the text is no number
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		start := testkit.CPUTime(t)
		_, err := evaluate(t, text)
		took := testkit.CPUTime(t) - start
		runtime.ReadMemStats(&after)
		if want == nil {
			if err == nil || errors.Is(err, ErrBudget) {
				t.Errorf("%s: %v", text, err)
			}
			continue
		}
		if !errors.Is(err, want) || !errors.Is(err, ErrBudget) {
			t.Errorf("%s: %v, want %v", text, err, want)
		}
		if n := after.TotalAlloc - before.TotalAlloc; n > 300<<20 { // numbers in lists are boxed for a moment: 16 bytes a step
			t.Errorf("%s: %d MiB allocated", text, n>>20)
		}
		if took > limit {
			t.Errorf("%s: took %v of CPU time", text, took)
		}
	}
}

// TestBudgetIsThatOfAMessage: messages before do not count, and a large one has more steps.
func TestBudgetIsThatOfAMessage(t *testing.T) {
	t.Parallel()
	var m machine
	if err := m.compile(`len(repeat(s, 400)) == 4000000`, expr.Env(values{})); err != nil {
		t.Fatal(err)
	}
	for i := range 10 {
		if holds, err := m.run(newValues(), 0); err != nil || !holds {
			t.Fatalf("evaluation %d: %v, %v", i, holds, err)
		}
		if cap(m.vm.Stack) > 0 {
			t.Fatal("what a large evaluation created is kept")
		}
	}
	if err := m.compile(`all(numbers, all(numbers, # >= 0 && # >= 0 && # >= 0 && # >= 0 && # >= 0 && # >= 0 && # >= 0 && # >= 0))`, expr.Env(values{})); err != nil {
		t.Fatal(err)
	}
	if _, err := m.run(newValues(), 128<<10); !errors.Is(err, errSteps) {
		t.Errorf("about a message of 128 KiB: %v", err)
	}
	if holds, err := m.run(newValues(), 8<<20); err != nil || !holds { // a pass over a large message
		t.Errorf("about a message of 8 MiB: %v, %v", holds, err)
	}
}

// TestMeteredIsEqual: an expression has the same result as without a budget.
func TestMeteredIsEqual(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`s + "x" == s + "x"`, `s + "x" != s`, `s + "y" > s + "x"`, `s < s + "x"`, `numbers == numbers`, `numbers != strs`, `numbers[1] >= i + f`,
		`i + f == 7.5`, `i + i <= 10`, `"abc" in strs`, `i in numbers`, `"a" in deep`, `i in [1, 5]`, `i in 1..5`, `7 in 1..5`, `not (i in 1..5)`, `s in [1, "x"]`,
		`s contains "efg"`, `s startsWith "abc"`, `s endsWith "i "`, `absent contains s`, `absent matches "x"`, `absent startsWith absent`, `s matches absent`,
		`s matches "^abc"`, `s matches pattern`, `bytes matches "^abc"`, `bytes matches pattern`, `s not contains "y"`,
		`len(s) == 10000`, `len(numbers) == 1000`, `len(deep) == 1`, `string(numbers[:3]) == "[0 7 14]"`, `int("5") == i`, `float("2.5") == f`, `int(f) == 2`,
		`trim(s) endsWith "i"`, `trim(s, "ab ") startsWith "c"`, `trimPrefix(s, "abc") startsWith "d"`, `trimSuffix(s, " ") endsWith "i"`,
		`upper("ä" + s) startsWith "ÄABC"`, `lower(upper(s)) == s`, `len(split(s, " ")) == 1001`, `split(s, " ", 2)[1] startsWith "abc"`, `len(splitAfter(s, " ")) == 1001`,
		`replace(s, "abc", "") startsWith "def"`, `replace(s, "abc", "x", 1) startsWith "xdefghi abc"`, `repeat(pattern, 2) == pattern + pattern`,
		`join(strs) == replace(s, " ", "")`, `join(strs, " ") + " " == s`, `indexOf(s, "c") == 2`, `lastIndexOf(s, "c") == 9992`, `hasPrefix(s, "abc")`, `hasSuffix(s, " ")`,
		`max(numbers) == 999`, `min(i, f) == f`, `mean(numbers) == 499.5`, `median(numbers) == 499.5`, `toJSON(deep) contains "\"b\": 1"`, `fromJSON(json).a[0] == 1`,
		`fromBase64(toBase64(s)) == s`, `keys(deep) == ["a"]`, `len(values(deep)) == 1`, `len(toPairs(deep)) == 1`, `fromPairs(pairs).a == 1`, `reverse(numbers)[999] == 0`,
		`len(concat(numbers, strs)) == 2000`, `len(uniq(strs)) == 1`, `flatten([[1, [2]], 3]) == [1, 2, 3]`, `sort(numbers)[1] == 1`, `sort(numbers, "desc")[0] == 999`,
		`all(numbers, # >= 0)`, `any(many, .level > 2)`, `any(many, any(.list, # == "x"))`, `none(many, .name == "xyz")`, `one(numbers, # == 7)`, `count(many, .level == 1) == 25`,
		`count(many, .level == 1) > 20`, `len(filter(numbers, # < 10)) == 10`, `filter(many, .level == 3)[0].name == "def"`, `map(many, .level)[2] == 2`, `sum(numbers) == 499500`,
		`sum(map(many, .level)) == 150`, `sum(many, .level) == 150`, `sum(1..10) == 55`, `find(many, .level == 2).name == "cde"`, `findIndex(numbers, # == 14) == 2`, `findLast(numbers, # < 5) != nil`,
		`findLastIndex(numbers, # == 14) == 2`, `len(groupBy(many, .level)) == 4`, `sortBy(many, .level, "desc")[0].level == 3`, `reduce(numbers, #acc + #, 0) == 499500`, `reduce(1..4, #acc * #) == 24`,
		`date("2026-11-21") < date("2026-11-22")`, `date("2026-11-22") - date("2026-11-21") == duration("24h")`, `date("2026-11-21") + duration("24h") == date("2026-11-22")`, `now().Year() > 2000`,
		`type(s) == "string"`, `abs(-i) == 5`, `ceil(f) + floor(f) + round(f + 0.1) == 8`, `first(numbers) == 0`, `last(strs) == "abcdefghi"`, `get(deep, "a").b == 1`, `len(take(numbers, 3)) == 3`,
		`bitand(i, 4) == 4`, `deep?.x?.y == nil`, `(deep.x ?? 3) == 3`, `i > 3 ? s != "" : false`, `strs | map(len(#)) | all(# == 9)`, `{"a": i}.a == 5`, `[s, s] == [s, s]`,
	} {
		code, err := expr.Compile(text, expr.Env(values{}), expr.AsBool())
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		want, wantErr := expr.Run(code, newValues())
		got, err := evaluate(t, text)
		if (err != nil) != (wantErr != nil) || got != (want == true) {
			t.Errorf("%s: %v, %v; without a budget %v, %v", text, got, err, want, wantErr)
		}
		if want == nil && wantErr == nil {
			t.Errorf("%s is neither true nor false", text)
		}
	}
}

// TestInRange: whether something is in a range of constants takes no list of it, and is as without
// a budget, whatever it is.
func TestInRange(t *testing.T) {
	t.Parallel()
	all := map[string]any{
		"int": 5, "first": int8(-7), "last": uint8(9), "above": uint16(10), "below": int16(-8), "int64": int64(5), "uint64": uint64(1 << 63),
		"uint32": uint32(3), "float": 5.0, "fraction": 5.5, "negative": -0.5, "float32": float32(9), "NaN": math.NaN(), "huge": 1e300, "infinite": math.Inf(-1),
		"string": "5", "nil": nil, "bool": true, "duration": time.Duration(5), "list": []any{5}, "map": map[string]any{"a": 5}, "bytes": []byte{5}, "time": time.Unix(5, 0),
	}
	for _, text := range []string{
		`x in -7..9`, `x not in -7..9`, `x in 5..5`, `x in 9..-7`, `x in +3..+9`, `any([x], # in -7..9)`, `x + 1 in 1..6`, `len(x) in 1..3`,
		`x in (-7..9)`, `x in 2..i`, `x.a in 1..9`,
	} {
		type input struct {
			X any `expr:"x"`
			I any `expr:"i"`
		}
		code, err := expr.Compile(text, expr.Env(input{}), expr.AsBool())
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		var m machine
		if err := m.compile(text, expr.Env(input{})); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		for name, x := range all {
			want, wantErr := expr.Run(code, input{x, 6})
			if got, err := m.run(input{x, 6}, 0); (err != nil) != (wantErr != nil) || got != (want == true) {
				t.Errorf("%s of %s: %v, %v; without a budget %v, %v", text, name, got, err, want, wantErr)
			}
		}
	}
	for text, want := range map[string]bool{
		`i in 1..1000000`: true, `i in -1000000..4`: false, `f in 1..1000000`: false, `s not in 1..1000000`: true, `absent in 1..1000000`: false,
		`all(numbers, # in 0..1000000)`: true,
	} {
		if got, err := evaluate(t, text); got != want || err != nil {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
}

// TestEveryFunctionHasAPrice: with another version of the library others may come.
func TestEveryFunctionHasAPrice(t *testing.T) {
	t.Parallel()
	for _, f := range builtin.Builtins {
		if price, known := prices[f.Name]; !known || f.Predicate && price != nil {
			t.Errorf("%s has no price", f.Name)
		}
	}
	if len(prices) != len(builtin.Builtins) {
		t.Errorf("%d prices for %d functions", len(prices), len(builtin.Builtins))
	}
}

// TestCompileTakesNoMemory: the library would make lists of such ranges before the first message.
func TestCompileTakesNoMemory(t *testing.T) { // not parallel: it measures the memory that is taken
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := Compile(strings.TrimSuffix(strings.Repeat(`len(1..1000000) > 0 or `, 100), " or ")); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 64<<20 {
		t.Errorf("%d MiB allocated", n>>20)
	}
}

// TestBudgetErrorText: it says what is too much, where, and is none of another kind.
func TestBudgetErrorText(t *testing.T) {
	t.Parallel()
	_, err := evaluate(t, `repeat(s, 1000000) == ""`)
	err = explain(err)
	var bad *ExpressionError
	if !errors.As(err, &bad) || bad.Line != 1 || bad.Column == 0 || bad.Reason != "the evaluation takes too much: more than 4 MiB of memory for one message" {
		t.Errorf("%+v", err)
	}
	if errors.Is(err, rosmsg.ErrLimit) || !errors.Is(err, ErrBudget) {
		t.Errorf("%v is of another kind", err)
	}
}
