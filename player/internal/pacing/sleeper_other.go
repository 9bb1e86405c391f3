//go:build !linux

package pacing

import "go.uber.org/zap"

func NewSleeper(*zap.Logger) Sleeper { return NewTimerSleeper() }
