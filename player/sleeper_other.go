//go:build !linux

package player

import "go.uber.org/zap"

func newSleeper(*zap.Logger) sleeper { return newTimerSleeper() }
