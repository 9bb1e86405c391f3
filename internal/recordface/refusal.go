package recordface

import (
	"errors"

	"github.com/gorosbag/gorosbag/internal/bagnote"
	"github.com/gorosbag/gorosbag/internal/command"
	"github.com/gorosbag/gorosbag/recorder/control"
)

// refusals are the kinds of the errors of a recorder.
var refusals = map[error]command.Kind{ //nolint:gochecknoglobals // a constant, but for the language
	control.ErrNotRecording:  command.Unavailable,
	control.ErrNoRoom:        command.Unavailable,
	control.ErrStopped:       command.Conflict,
	control.ErrPaused:        command.Conflict,
	control.ErrNoSnapshots:   command.Conflict,
	control.ErrOnlySnapshots: command.Conflict,
	control.ErrNoBag:         command.NotFound,
	bagnote.ErrMark:          command.Invalid,
}

// refusal gives its kind to an error of a recorder.
func refusal(err error) error {
	for known, kind := range refusals {
		if errors.Is(err, known) {
			return command.Refuse(kind, err)
		}
	}
	return err
}
