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
	ErrConflict = errors.New("topic or service already in use by this node")

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

// ConflictError is returned for a second Subscribe or Advertise of one topic, or AdvertiseService of one
// service: ROS knows one subscription and one publication for each topic of a node. Node.Publication
// returns the first publication, which may have any number of sources.
type ConflictError struct {
	Topic      string // resolved; or the service
	Have, Want string // "type/md5sum" in use and requested
}

// Error implements error.
func (e *ConflictError) Error() string {
	return fmt.Sprintf("this node already has %s, as %s; it cannot have it again, as %s", e.Topic, e.Have,
		e.Want)
}

// Is reports whether target is ErrConflict.
func (e *ConflictError) Is(target error) bool { return target == ErrConflict }
