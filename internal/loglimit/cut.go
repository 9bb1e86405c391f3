package loglimit

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// MaxLine is the most bytes of a line of the log.
const MaxLine = 4 << 10

// How the bytes of a line are divided. The remaining bytes are for time, level, and the fields that
// told adds.
const (
	lineBytes    = MaxLine - 256
	messageBytes = 1 << 10 // bytes of the message
	withBytes    = 1 << 10 // bytes of all fields of With
	leastBytes   = 64      // bytes of each field that is shortened, its mark included
)

// Cut returns text shortened to at most most bytes, with a mark that tells how many bytes are cut.
// Bytes are counted as a field writes them: a control character is written as \u0000, 6 bytes. most
// is at least leastBytes.
func Cut(text string, most int) string {
	if len(text) <= most && cost(text) <= most {
		return text
	}
	for keep := prefix(text, most-markBytes); ; keep-- { // a mark is shorter than markBytes
		if keep <= 0 || utf8.RuneStart(text[keep]) {
			keep = max(keep, 0)
			// Clone the text, so that the rest of a long text is freed.
			return fmt.Sprintf("%s... [%d of %d bytes cut]", strings.Clone(text[:keep]), len(text)-keep, len(text))
		}
	}
}

const markBytes = 52

// prefix returns the length of the longest prefix of text whose cost is at most most.
func prefix(text string, most int) int {
	for i := range len(text) {
		if most -= byteCost(text, i); most < 0 {
			return i
		}
	}
	return len(text)
}

// cost returns an upper bound of the bytes of text in a field. It stops counting when the text does
// not fit into a line.
func cost(text string) (n int) {
	for i := 0; i < len(text) && n <= MaxLine; i++ {
		n += byteCost(text, i)
	}
	return n
}

// byteCost returns an upper bound of the bytes that a field needs for the byte of text at i. A byte
// beyond ASCII that is no part of a character is written as \ufffd.
func byteCost(text string, i int) int {
	switch b := text[i]; {
	case b < ' ' || b == 0x7f:
		return 6
	case b == '"' || b == '\\':
		return 2
	case b < utf8.RuneSelf:
		return 1
	}
	if r, size := utf8.DecodeRuneInString(text[i:]); size > 1 && r != utf8.RuneError {
		return 1
	}
	// The later bytes of a good character are those that follow its first byte.
	for back := 1; back < utf8.UTFMax && back <= i; back++ {
		if _, size := utf8.DecodeRuneInString(text[i-back:]); size > back {
			return 1
		}
	}
	return 6
}

// cutFields returns fields of at most most bytes together, and their bytes. The longest fields are
// shortened. Fields that fit are returned unchanged.
func cutFields(fields []zap.Field, most int) (fitting []zap.Field, used int) {
	costs := make([]int, 0, 16)
	for _, f := range fields {
		c := fieldCost(f)
		costs = append(costs, c)
		used += c
	}
	if used <= most {
		return fields, used
	}
	limit := levelOf(costs, most)
	used = 0
	for i, f := range fields {
		c := costs[i]
		if c > limit {
			f = zap.String(f.Key, Cut(text(f), max(limit-keyCost(f), leastBytes)))
			c = fieldCost(f)
		}
		if used+c > most && i > 0 {
			return append(fitting, zap.Int("fields left out", len(fields)-i)), used
		}
		fitting = append(fitting, f)
		used += c
	}
	return fitting, used
}

// levelOf returns the limit that makes the sum of costs, each cut to it, at most most.
func levelOf(costs []int, most int) int {
	sorted := slices.Sorted(slices.Values(costs))
	for i, c := range sorted {
		share := most / (len(sorted) - i)
		if c > share {
			return max(share, leastBytes)
		}
		most -= c
	}
	return most
}

func keyCost(f zap.Field) int { return cost(f.Key) + len(`"": "", `) }

// fieldCost returns an upper bound of the bytes of a field in a line.
func fieldCost(f zap.Field) int {
	switch {
	case f.Type == zapcore.SkipType:
		return 0
	case f.Type == zapcore.StringType:
		return keyCost(f) + cost(f.String)
	case slices.Contains(numbers, f.Type):
		return keyCost(f) + 24
	}
	n := 0
	for key, v := range values(f) {
		n += cost(key) + len(`"": "", `) + valueCost(v)
	}
	return n
}

func valueCost(v any) int {
	switch v := v.(type) {
	case string:
		return cost(v)
	case []any:
		n := 2
		for _, x := range v {
			n += valueCost(x) + len(`"",`)
		}
		return n
	case map[string]any:
		n := 2
		for key, x := range v {
			n += cost(key) + valueCost(x) + len(`"":"",`)
		}
		return n
	case time.Time, time.Duration:
		return 40
	}
	b, err := json.Marshal(v)
	if err != nil {
		return cost(fmt.Sprint(v))
	}
	return len(b)
}

// numbers are the types of fields whose values have a fixed size.
var numbers = []zapcore.FieldType{
	zapcore.BoolType, zapcore.DurationType, zapcore.Float64Type, zapcore.Float32Type,
	zapcore.Int64Type, zapcore.Int32Type, zapcore.Int16Type, zapcore.Int8Type,
	zapcore.Uint64Type, zapcore.Uint32Type, zapcore.Uint16Type, zapcore.Uint8Type,
}

// values returns what a field adds to a line: an error may add more than its text.
func values(f zap.Field) map[string]any {
	m := zapcore.NewMapObjectEncoder()
	f.AddTo(m)
	return m.Fields
}

// text returns the value of a field.
func text(f zap.Field) string {
	if f.Type == zapcore.StringType {
		return f.String
	}
	v := values(f)
	if s, ok := v[f.Key].(string); ok {
		return s
	}
	return fmt.Sprint(v[f.Key])
}
