package opening

import (
	"errors"

	"github.com/gorosbag/gorosbag/bagfmt/internal/wire"
	"github.com/gorosbag/gorosbag/rosbag"
)

// tornSealed handles the uncompressed encrypted chunk at p, of whose data the file has left
// bytes, as damage says: its messages are read, unless another chunk follows and its length
// is wrong.
func (x *bagScan) tornSealed(
	p *wire.ChunkPlace, left int64, damage *rosbag.CorruptError,
) (more bool, err error) {
	if more, err = x.resync(p.Pos, damage); more || !errors.Is(err, damage) {
		return more, err
	}
	p.Stored, p.Torn = left, true
	x.chunk.place, x.chunk.open = *p, true
	x.s.SeekTo(x.bag.Size)
	return true, damage
}
