package player

import (
	"github.com/gorosbag/gorosbag/player/internal/plan"
	"github.com/gorosbag/gorosbag/player/internal/stage"
)

// ErrNoMessages says that the bags hold no message that the options select. If no topic that was asked
// for is in the bags, the error is a *NotInBagsError.
var ErrNoMessages = plan.ErrNoMessages

// NotInBagsError says that the bags have none of the Topics and Types that were asked for. Nearest has the
// topics of the bags with similar names. It matches ErrNoMessages.
type NotInBagsError = plan.NotInBagsError

// DenyError says which Topics Options.Deny forbids to play: their names as published, and as recorded if
// those are others.
type DenyError = plan.DenyError

// WaitError says which Topics had no subscriber when Options.WaitTimeout was over, After which time.
type WaitError = stage.WaitError
