//go:build !linux

package tcpros

import (
	"net"
	"time"
)

// owesAnswer knows nothing here: the kernel's patience is all there is.
func owesAnswer(net.Conn) (owes bool, heard time.Duration) { return false, 0 }
