package opening

import (
	"io"

	"github.com/gorosbag/gorosbag/bagfmt/internal/mcapread"
	"github.com/gorosbag/gorosbag/bagfmt/internal/table"
	"github.com/gorosbag/gorosbag/bagfmt/internal/wire"
)

// Open opens a bag, see NewReader.
func Open(r io.ReaderAt, size int64, o table.Options) (*table.Table, error) {
	o, err := o.WithDefaults()
	if err != nil {
		return nil, err
	}
	cache := o.Cache
	o.Cache = nil // a scan uses the memory of a chunk again
	r = table.Interruptible(r, o.Interrupted)
	t := &table.Table{File: r, Size: size, Options: o}
	s := wire.NewFileStream(r, size, wire.SmallBufferBytes)
	v, err := s.Version(o.FutureVersion)
	if err != nil {
		return nil, err
	}
	t.Version = v.Name
	t.Elapsed = v.Elapsed
	byIndex, scan := (&indexSection{bag: t}).open, scanBag
	if v.Layout == wire.LayoutMCAP {
		byIndex, scan = func(s *wire.Stream) error { return mcapread.BySummary(t, s) }, mcapread.Scan
	}
	if v.Layout != wire.LayoutV2 && v.Layout != wire.LayoutMCAP {
		err = openOld(t, s, v)
	} else if err = byIndex(s); err != nil && !o.IndexOnly && wire.IsDamage(err) {
		t.Damaged(err)
		reason := wire.AsCorrupt(err)
		var complete bool
		complete, err = scan(t)
		if reason != nil {
			// With the index section in its place, or met by the scan, nothing before it is
			// missing: the scan has reported what else was lost.
			reason.Recovered = complete
		}
	}
	if err != nil {
		return nil, err
	}
	t.Options.Cache = cache
	t.Summarize()
	return t, nil
}
