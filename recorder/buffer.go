package recorder

import (
	"sync"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/recorder/internal/latch"
	"github.com/gorosbag/gorosbag/recorder/internal/memory"
	"github.com/gorosbag/gorosbag/recorder/internal/ring"
)

// buffer owns the memory of a recording and decides who gets some. Its size, the -b of the
// command line, bounds all that it holds. It is guarded by intake.mu.
type buffer struct {
	log      *zap.Logger
	overflow Overflow

	pool    memory.Memory
	open    *memory.Chunk // the shared chunk that is filled; nil until the next message
	latched latch.Store
	ring    *ring.Ring // nil without snapshots

	room    sync.Cond   // OverflowBlock: memory came back, or the waiting is over
	blocked []*blockage // links that wait for room
}
