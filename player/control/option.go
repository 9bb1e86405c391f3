package control

import (
	"errors"
	"fmt"
)

// ErrOption matches every *OptionError.
var ErrOption = errors.New("invalid option")

// OptionError says which option is wrong.
type OptionError struct {
	Option string
	Reason string
}

// Error implements error.
func (e *OptionError) Error() string { return fmt.Sprintf("option %s %s", e.Option, e.Reason) }

// Is reports whether target is ErrOption.
func (e *OptionError) Is(target error) bool { return target == ErrOption }
