package recorder

import (
	"os"

	"github.com/gorosbag/gorosbag/recorder/control"
)

// Bags implements control.Recording.
func (c *Control) Bags() ([]control.Bag, error) {
	r, err := c.reach()
	if err != nil {
		return nil, err
	}
	done := r.sink.Finished.Bags()
	all := make([]control.Bag, len(done))
	for i, b := range done {
		all[i] = control.Bag(b)
	}
	return all, nil
}

// OpenBag implements control.Recording.
func (c *Control) OpenBag(id int) (*os.File, control.Bag, error) {
	r, err := c.reach()
	if err != nil {
		return nil, control.Bag{}, err
	}
	f, b, err := r.sink.Finished.Open(id)
	return f, control.Bag(b), err
}
