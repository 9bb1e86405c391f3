//go:build !linux

package publink

import "net"

func probeOften(net.Conn) {}

// socketProgress knows nothing here: only what is written counts as progress.
func socketProgress(net.Conn) (unsent int, window uint32) { return 0, 0 }
