//go:build !linux

package files

import "errors"

// exchange swaps two names in one step, or returns errors.ErrUnsupported.
func exchange(_, _ string) error { return errors.ErrUnsupported }
