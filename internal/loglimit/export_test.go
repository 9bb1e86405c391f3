package loglimit

import "go.uber.org/zap"

// Remembered returns how much the limiter of log remembers.
func Remembered(log *zap.Logger) (kinds, peers int) {
	l := log.Core().(*core).limiter
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, k := range l.kinds {
		peers += len(k.peers)
	}
	return len(l.kinds), peers
}
