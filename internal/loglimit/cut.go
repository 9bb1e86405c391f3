package loglimit

import (
	"fmt"
	"slices"
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
	kept := text[:prefix(text, most-markBytes)]
	return fmt.Sprintf("%s... [%d of %d bytes cut]", kept, len(text)-len(kept), len(text))
}

const markBytes = 52 // more than the mark of Cut has

// prefix returns the length of the longest prefix of text whose cost is at most most.
func prefix(text string, most int) int {
	for i, r := range text {
		if most -= runeCost(r); most < 0 {
			return i
		}
	}
	return len(text)
}

// cost returns an upper bound of the bytes of text in a field. It stops counting when the text does
// not fit into a line.
func cost(text string) (n int) {
	for _, r := range text {
		if n += runeCost(r); n > MaxLine {
			break
		}
	}
	return n
}

// runeCost returns an upper bound of the bytes of a character in a field. A byte that is no part of a
// character is a utf8.RuneError here, and is written as \ufffd.
func runeCost(r rune) int {
	switch {
	case r < ' ' || r == 0x7f || r == utf8.RuneError:
		return 6
	case r == '"' || r == '\\':
		return 2
	}
	return utf8.RuneLen(r)
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
	limit := fieldLimit(costs, most)
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

// fieldLimit returns the limit for each field with which fields of these costs take at most most bytes
// together: what short fields do not use is left for the longer ones.
func fieldLimit(costs []int, most int) int {
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

// measuring encodes fields in the longest of the forms that a log has: as JSON with spaces.
var measuring = zapcore.NewConsoleEncoder(zapcore.EncoderConfig{
	EncodeTime: zapcore.RFC3339NanoTimeEncoder, EncodeDuration: zapcore.StringDurationEncoder,
	SkipLineEnding: true,
})

// fieldCost returns an upper bound of the bytes of a field in a line.
func fieldCost(f zap.Field) int {
	switch {
	case f.Type == zapcore.SkipType:
		return 0
	case f.Type == zapcore.StringType: // without a copy: texts may be long
		return keyCost(f) + cost(f.String)
	case f.Interface == nil: // a number or a duration
		return keyCost(f) + 24
	}
	encoded, err := measuring.EncodeEntry(zapcore.Entry{}, []zap.Field{f})
	if err != nil {
		return keyCost(f) + MaxLine // text says what can be said of the field
	}
	defer encoded.Free()
	return encoded.Len() // the braces around the field stand for the separator after it
}

// text returns the value of a field.
func text(f zap.Field) string {
	if f.Type == zapcore.StringType {
		return f.String
	}
	m := zapcore.NewMapObjectEncoder()
	f.AddTo(m)
	return fmt.Sprint(m.Fields[f.Key])
}
