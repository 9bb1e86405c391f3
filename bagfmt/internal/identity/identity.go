// Package identity tells whether two connections of bags are the same: it makes digests of them, and
// keeps nothing.
package identity

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"io"
	"slices"

	"github.com/gorosbag/gorosbag/bagfmt/internal/wire"
	"github.com/gorosbag/gorosbag/rosbag"
)

// Digest identifies a connection by its topic and all its fields, in any order. Empty
// fields that writers add when they are missing are left out.
type Digest [sha256.Size]byte

// Of returns the digest of a connection.
func Of(c *rosbag.Connection) Digest {
	list := slices.Clone(c.Header)
	slices.SortStableFunc(list, func(a, b rosbag.Field) int { return cmp.Compare(a.Key, b.Key) })
	h := sha256.New()
	add := func(s string) {
		_, _ = h.Write(binary.LittleEndian.AppendUint32(nil, uint32(len(s)))) // a hash never fails
		_, _ = io.WriteString(h, s)
	}
	add(c.Topic)
	for _, f := range list {
		if f.Value == "" && slices.Contains(wire.StockKeys[:], f.Key) {
			continue
		}
		add(f.Key)
		add(f.Value)
	}
	return Digest(h.Sum(nil))
}
