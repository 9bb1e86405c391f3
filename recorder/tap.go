package recorder

import "github.com/gorosbag/gorosbag/recorder/internal/tap"

// Tap shows the messages of a recording to live viewers, as Tap.Source says.
type Tap = tap.Tap

// TapOptions says what viewers are told, and how much memory they may take.
type TapOptions = tap.Options

// DefaultTapMemory is the default of TapOptions.Memory.
const DefaultTapMemory = tap.DefaultMemory

// NewTap returns a tap for Options.Tap.
func NewTap(o TapOptions) *Tap { return tap.New(o) }
