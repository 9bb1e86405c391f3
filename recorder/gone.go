package recorder

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// goneEvery is how often the writer looks whether its file still has its name.
const goneEvery = 250 * time.Millisecond

// errMoved means that the file has another name now; nothing in it is lost.
var errMoved = errors.New("it was moved away while it was recorded, and is complete where it is now")

// errDeleted means that nobody will ever read what was written.
var errDeleted = errors.New("it was deleted while it was recorded: what was in it is lost")

// gone returns why the file does not have its name any more, if that is so.
func (b *bagFile) gone() error {
	defer b.stall.begin("name check", b.sealed)()
	st, err := b.dir.Lstat(filepath.Base(b.target) + activeSuffix)
	if err == nil && os.SameFile(st, b.id) || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil // also if it cannot be told
	}
	why := errMoved
	if st, err := b.stat(); err == nil && unlinked(st) {
		why = errDeleted
	}
	return fmt.Errorf("%s: %w", b.sealed, why)
}

// lookGone is gone, asked now and then.
func (b *bagFile) lookGone(now time.Time) error {
	if now.Sub(b.looked) < goneEvery {
		return nil
	}
	b.looked = now
	return b.gone()
}

// recount takes the messages of a deleted file for lost.
func (p *pipeline) recount(b *bagFile) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for id, n := range b.messages {
		t := p.conns[id].topic
		t.messages -= n
		t.written -= n
		t.dropped[dropDeleted] += n
	}
}
