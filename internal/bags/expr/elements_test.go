package expr_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"testing"

	"github.com/gorosbag/gorosbag/internal/bags/expr"
	"github.com/gorosbag/gorosbag/rosmsg"
)

const diagnosticArray = `uint32 seq
DiagnosticStatus[] status
================================================================================
MSG: p/DiagnosticStatus
byte level
string name
string message
KeyValue[] values
time[] seen
================================================================================
MSG: p/KeyValue
string key
string value
`

func appendString(b []byte, s string) []byte {
	return append(binary.LittleEndian.AppendUint32(b, uint32(len(s))), s...)
}

// diagnostics is a message with a status of each level, of four values each.
func diagnostics(levels ...byte) []byte {
	le := binary.LittleEndian
	b := le.AppendUint32(le.AppendUint32(nil, 7), uint32(len(levels)))
	for i, level := range levels {
		b = append(b, level)
		b = appendString(appendString(b, fmt.Sprintf("status %d", i)), "all right so far")
		b = le.AppendUint32(b, 4)
		for k := range 4 {
			b = appendString(appendString(b, fmt.Sprintf("key %d", k)), fmt.Sprint(k*i))
		}
		b = le.AppendUint32(le.AppendUint32(le.AppendUint32(b, 1), uint32(level)), 0)
	}
	return b
}

// TestNeededFields: a list is decoded as far as a predicate needs its elements, with the same
// result as from the whole, if the message is not damaged.
func TestNeededFields(t *testing.T) {
	t.Parallel()
	const whole = " and len(m.status) >= 0" // needs more than a predicate
	for text, partly := range map[string]bool{
		`any(m.status, {.level >= 2})`:                                                true,
		`m.status | any(.level >= 2)`:                                                 true,
		`count(m.status, .level >= 1 and .name matches "[02]$") == 1`:                 true,
		`any(m.status, .level >= 2) or all(m.status, .message == "no")`:               true,
		`sum(m.status, .level) > 2`:                                                   true,
		`map(m.status, .name) == ["status 0"]`:                                        true,
		`findIndex(m.status, .level == 2) == 1`:                                       true,
		`any(m.status, .seen[0] == 2)`:                                                true,
		`any(m.status, .missing == nil)`:                                              true,
		`any(m.status, any(.values, .value == "3"))`:                                  true, // all the same: they are messages
		`len(filter(m.status, .level >= 2)) > 0`:                                      false,
		`find(m.status, .level >= 2)?.name == "status 1"`:                             false,
		`any(m.status, len(#) == 5)`:                                                  false,
		`any(m.status, #?.level == 2)`:                                                false,
		`any(m.status, .level >= 2) and m.status[0].level < 2`:                        true,
		`any(m.status, .level >= 2) and len(m.status) > 1`:                            false,
		`any(m.status, any(m.status, .level == 2) and .level == 0 and .name != "x")`:  true,
		`reduce(m.status, #acc + .level, 0) > 2`:                                      false,
		`any(m?.status, .level >= 2)`:                                                 false,
		`any(1..3, # == m.seq - 5)`:                                                   false,
		`any(groupBy(m.status, .level)[2], .name == "status 1")`:                      false,
		`any(sortBy(m.status, .level), .name == "status 0")`:                          false,
		`none(m.status, .level in map(m.status, .level) and .level > 1)`:              true,
		`any(m.status, .level == 2 and any(.seen, # == 2) and one([1,2], # == 1))`:    true,
		`any(m.status, let l = .level; l >= 2)`:                                       true,
		`any(m.status, let s = #; s.level >= 2)`:                                      false,
		`any(m.status, .level > 9) or any(m.status, .values[0].key == "key 0")`:       true, // all the same
		`any(m.status, .level > 9 and .values == nil) or m.status[0].values[0] == {}`: true,
	} {
		p, err := expr.Compile(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := expr.Partly(p); got != partly {
			t.Errorf("%s: only the needed fields: %v, want %v", text, got, partly)
		}
		all, err := expr.Compile("(" + text + ")" + whole)
		if err != nil {
			t.Fatal(err)
		}
		for _, levels := range [][]byte{{0, 2}, {1, 1, 1}, {}, {2}, {0, 0, 0, 0}, {0}} {
			conn, m := message("/diagnostics", "p/T", diagnosticArray, diagnostics(levels...))
			got, err := p.Keep(conn, m)
			want, wantErr := all.Keep(conn, m)
			if got != want || (err != nil) != (wantErr != nil) {
				t.Errorf("%s of %v: %v, %v; of the whole %v, %v", text, levels, got, err, want, wantErr)
			}
		}
	}
}

// TestNeededFieldsOfBadMessages: what is wrong with a list is an error for each of its elements.
func TestNeededFieldsOfBadMessages(t *testing.T) {
	t.Parallel()
	p, err := expr.CompileTopics(`topic == "/diagnostics" and any(m.status, .level == 9)`, inNamespace)
	if err != nil {
		t.Fatal(err)
	}
	good := diagnostics(0, 1)
	for name, test := range map[string]struct {
		payload []byte
		want    error
	}{
		"cut":        {good[:40], rosmsg.ErrCorrupt},
		"cut last":   {good[:len(good)-4], nil}, // nothing after its level is looked at
		"too many":   {diagnostics(make([]byte, 1<<14+1)...), rosmsg.ErrLimit},
		"just right": {diagnostics(make([]byte, 1<<14)...), nil},
	} {
		conn, m := message("/diagnostics", "p/T", diagnosticArray, test.payload)
		if got, err := p.Keep(conn, m); got || !errors.Is(err, test.want) {
			t.Errorf("%s: %v, %v, want %v", name, got, err, test.want)
		}
	}
}

// BenchmarkKeep evaluates an expression for diagnostics of ten statuses.
func BenchmarkKeep(b *testing.B) {
	for name, text := range map[string]string{
		"fields": `any(m.status, {.level >= 2})`,
		"whole":  `any(m.status, {.level >= 2 and # != nil})`,
	} {
		b.Run(name, func(b *testing.B) {
			p, err := expr.Compile(text)
			if err != nil {
				b.Fatal(err)
			}
			conn, m := message("/diagnostics", "p/T", diagnosticArray, diagnostics(make([]byte, 10)...))
			b.ReportAllocs()
			for b.Loop() {
				if got, err := p.Keep(conn, m); got || err != nil {
					b.Fatal(got, err)
				}
			}
		})
	}
}
