package migration_test

import (
	"errors"
	"testing"

	"github.com/gorosbag/gorosbag/internal/ros/migration"
	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/rosmsg"
)

// FuzzConvert checks pairs of definitions and payloads: what fits the old definition becomes what fits the new one, or
// is refused with a value; what does not fit is an error; memory is bounded; the way back through equal bytes is exact.
func FuzzConvert(f *testing.F) {
	golden := goldenRows(f)
	for i, r := range completed() {
		f.Add(r.Old, r.New, unhex(f, golden[i].Old.Payload))
	}
	f.Add("E[] a\n"+sub("p/E", ""), "E[] a\n"+sub("p/E", "float64 x"), []byte{0, 0, 0, 1})
	f.Fuzz(func(t *testing.T, before, after string, payload []byte) {
		from, err := rosmsg.Parse("p/T", before)
		if err != nil {
			return
		}
		to, err := rosmsg.Parse("p/T", after)
		if err != nil {
			return
		}
		p, err := migration.Compare(from, to, options(t, "--drop all", "--convert all"))
		if err != nil || len(p.Refused()) > 0 {
			return
		}
		c := p.Converter()
		const spare = 64 // a read beyond the end finds other bytes than a read of a copy that ends there
		long := append(append([]byte(nil), payload...), make([]byte, spare)...)
		out, err := c.Append(nil, long[:len(payload)], rosbag.Time{Sec: 1, Nsec: 2})
		exact, err2 := p.Converter().Append(nil, append([]byte(nil), payload...), rosbag.Time{Sec: 1, Nsec: 2})
		if string(out) != string(exact) || (err == nil) != (err2 == nil) {
			t.Fatalf("%x (%v) and %x (%v)", out, err, exact, err2)
		}
		switch {
		case err == nil:
			if err := from.Check(payload); err != nil {
				t.Fatalf("converted, but %v", err)
			}
			if err := to.Check(out); err != nil {
				t.Fatalf("made %x: %v", out, err)
			}
		case errors.Is(err, migration.ErrValue):
		case !errors.Is(err, rosmsg.ErrCorrupt):
			t.Fatalf("%v", err)
		}
		if most := 4<<20 + 300*len(payload) + spare; len(out) > most || cap(out) > 4*most {
			t.Fatalf("%d bytes became %d", len(payload), len(out))
		}
	})
}
