//go:build !linux

package load

import "errors"

// Unread is not there: only Linux tells of another program's socket.
func (l *Link) Unread() (int, error) { return 0, errors.ErrUnsupported }
