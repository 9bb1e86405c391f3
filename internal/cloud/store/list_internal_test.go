package store

import (
	"errors"
	"testing"

	"github.com/gorosbag/gorosbag/internal/cloud/store/place"
)

// TestListRoom: a list with new names each time ends as well.
func TestListRoom(t *testing.T) {
	t.Parallel()
	n, err := 0, error(nil)
	room := listRoom(maxListBytes)
	for ; err == nil && n < 10_000_000; n++ {
		err = room.take("robot/2026-11-03/run_2026-11-03-04-05-06_12.bag")
	}
	if n < 1_000_000 || n > 2_000_000 || !errors.Is(err, place.ErrBadResponse) {
		t.Errorf("%d objects, %v", n, err)
	}
}
