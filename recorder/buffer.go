package recorder

import (
	"sync"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/recorder/internal/memory"
)

// buffer owns the memory of a recording and decides who gets some. Its size, the -b of the
// command line, bounds all that it holds. It is guarded by intake.mu.
type buffer struct {
	log      *zap.Logger
	overflow Overflow

	pool    memory.Memory
	open    *memory.Chunk // the shared chunk that is filled; nil until the next message
	latched latchStore
	ring    *ring // nil without snapshots

	room    sync.Cond   // OverflowBlock: memory came back, or the waiting is over
	blocked []*blockage // links that wait for room
}
