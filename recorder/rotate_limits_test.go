package recorder

import (
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/recorder/internal/encode"
	"github.com/gorosbag/gorosbag/recorder/internal/rotation"
)

// TestChunksBeforeTheEndOfAFile: a chunk is as long as it is asked for, or as there is room
// in the file. Where that is an estimate a chunk is not shorter than an eighth.
func TestChunksBeforeTheEndOfAFile(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		left       int64
		compressed bool
		want       int
	}{
		{801, false, 800},
		{800, false, 800},
		{799, false, 799},
		{0, false, 0},
		{-1, false, 0},
		{801, true, 800},
		{101, true, 101},
		{99, true, 100},
		{-1, true, 100},
	} {
		p := bareIntake(-1, 800)
		p.rotation = rotationAt(rotation.Options{MaxBytes: 10_000}, 0, 10_000-c.left)
		if c.compressed {
			p.encoder = encode.New(encode.Options{Compression: bagfmt.CompressionLZ4, Workers: 1})
		}
		if got := p.sealLimit(); got != c.want {
			t.Errorf("room for %d, compressed %v: a chunk is sealed beyond %d, want %d", c.left, c.compressed, got, c.want)
		}
	}
}

// TestFileEndsAtItsSize: with its last byte a file is not too long yet; with one more the
// next begins, or the recording ends, and says so once.
func TestFileEndsAtItsSize(t *testing.T) {
	t.Parallel()
	for _, split := range []bool{false, true} {
		p := bareIntake(-1, 800)
		p.state = StateRecording
		p.rotation = rotationAt(rotation.Options{MaxBytes: 1000, Split: split}, 0, 1000)
		p.checkSize(time.Now())
		if p.rotation.Part() != 0 || p.atSizeLimit {
			t.Errorf("split %v: a file that has its size exactly has ended", split)
		}
		for range 2 {
			p.rotation.Written(p.rotation.Part(), 0, 1001-p.rotation.Stored(), false)
			p.checkSize(time.Now())
		}
		if split && (p.rotation.Part() != 2 || p.atSizeLimit || len(p.filled) != 0) {
			t.Errorf("with splits: file %d after two ends, full: %v", p.rotation.Part(), p.atSizeLimit)
		}
		if !split && (p.rotation.Part() != 0 || !p.atSizeLimit || len(p.filled) != 1) {
			t.Errorf("without: file %d, full: %v, said %d times", p.rotation.Part(), p.atSizeLimit, len(p.filled))
		}
	}
}

// TestNoNextFile while nothing is recorded, or behind the end.
func TestNoNextFile(t *testing.T) {
	t.Parallel()
	for name, set := range map[string]func(*intake){
		"paused":    func(p *intake) { p.state = StatePaused },
		"stopped":   func(p *intake) { p.state = StateStopped },
		"ended":     func(p *intake) { p.ended = true },
		"full":      func(p *intake) { p.atSizeLimit = true },
		"recording": func(*intake) {},
	} {
		p := bareIntake(-1, 800)
		p.state = StateRecording
		set(p)
		p.nextFile(time.Now())
		if began := p.rotation.Part() == 1; began != (name == "recording") {
			t.Errorf("%s: the next file began: %v", name, began)
		}
	}
}
