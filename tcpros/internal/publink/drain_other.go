//go:build !linux

package publink

import "net"

func probeOften(net.Conn) {}

// socketProgress returns zeros on systems other than Linux: there, only bytes written to the socket
// are progress.
func socketProgress(net.Conn) (unsent int, window uint32) { return 0, 0 }
