package player

import (
	"github.com/gorosbag/gorosbag/player/internal/plan"
	"github.com/gorosbag/gorosbag/player/internal/stage"
)

// ErrNoMessages says that the bags hold no message that the options select. If no topic that was asked
// for is in the bags, the error is a *NotInBagsError.
var ErrNoMessages = plan.ErrNoMessages

// NotInBagsError says that the bags have none of the topics and types that were asked for. It matches
// ErrNoMessages.
type NotInBagsError = plan.NotInBagsError

// DenyError says which topics Options.Deny forbids to play.
type DenyError = plan.DenyError

// WaitError says which topics had no subscriber when Options.WaitTimeout was over.
type WaitError = stage.WaitError
