package mapping

import "slices"

// Distros returns all distributions, the oldest first.
func Distros() []Distro { return slices.Clone(distros) }
