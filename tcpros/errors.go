package tcpros

import (
	"errors"
	"fmt"

	"github.com/gorosbag/gorosbag/tcpros/internal/endpoint"
	"github.com/gorosbag/gorosbag/tcpros/internal/names"
	"github.com/gorosbag/gorosbag/tcpros/internal/publink"
	"github.com/gorosbag/gorosbag/tcpros/internal/rosapi"
	"github.com/gorosbag/gorosbag/tcpros/internal/service"
	"github.com/gorosbag/gorosbag/tcpros/internal/wire"
)

// Sentinels. Callers compare with errors.Is.
var (
	// ErrName matches every *NameError.
	ErrName = names.ErrName
	// ErrClosed says that the node, subscription or publication is closed.
	ErrClosed = wire.ErrClosed
	// ErrConflict matches every *ConflictError.
	ErrConflict = errors.New("topic already in use by this node")

	// ErrHeader matches every *HeaderError.
	ErrHeader = wire.ErrHeader
	// ErrPeer matches every *PeerError.
	ErrPeer = wire.ErrPeer
	// ErrTooLarge matches every *TooLargeError.
	ErrTooLarge = wire.ErrTooLarge
	// ErrStalled says that a message stopped in the middle for too long.
	ErrStalled = wire.ErrStalled
	// ErrStatus matches every *StatusError.
	ErrStatus = rosapi.ErrStatus
	// ErrNotDrained matches every *DrainError.
	ErrNotDrained = publink.ErrNotDrained
	// ErrService matches every *ServiceError.
	ErrService = service.ErrService
	// ErrUnresolved matches every *ResolveError.
	ErrUnresolved = endpoint.ErrUnresolved
)

// ConflictError is returned for a second Subscribe or Advertise of one topic: ROS
// knows one subscription and one publication for each topic of a node.
type ConflictError struct {
	Topic      string
	Have, Want string // "type/md5sum" in use and requested
}

// Error implements error.
func (e *ConflictError) Error() string {
	return fmt.Sprintf("topic %s is in use as %s, asked for %s", e.Topic, e.Have, e.Want)
}

// Is reports whether target is ErrConflict.
func (e *ConflictError) Is(target error) bool { return target == ErrConflict }
