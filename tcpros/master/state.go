package master

import (
	"sync"
	"sync/atomic"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/tcpros/master/internal/notify"
)

// state is the state of the master. graph.go and paramapi.go have the methods of the API, all
// called with the lock held.
type state struct {
	uri        string // of the master
	onShutdown func(caller, reason, peer string)
	log        *zap.Logger
	notify     *notify.Notifier
	version    atomic.Uint64 // counts changes of the fields below

	// mu guards the fields below. It is held while a call runs and while the reply is encoded, never during
	// a network call.
	mu     sync.Mutex
	reg    *registry
	params *paramTree
}

func newState(uri string, onShutdown func(caller, reason, peer string), log *zap.Logger) *state {
	s := &state{uri: uri, onShutdown: onShutdown, log: log, reg: newRegistry(), params: newParamTree()}
	s.notify = notify.New(log, &s.mu, &s.version)
	return s
}
