package main

import (
	"errors"
	"math"
	"testing"

	"github.com/gorosbag/gorosbag/config"
	"github.com/gorosbag/gorosbag/player"
	"github.com/gorosbag/gorosbag/player/control"
	"github.com/gorosbag/gorosbag/tcpros"
)

// TestRateLimits: config, which imports no other package, has the limits of player once more.
func TestRateLimits(t *testing.T) {
	t.Parallel()
	for _, rate := range []float64{-1, math.Nextafter(1e-6, 0), 1e-6, 1, 1e9, math.Nextafter(1e9, 2e9), math.NaN()} {
		c := config.Play{Files: []string{"x.bag"}, Rate: rate, PlaySelect: config.PlaySelect{OrderReach: 1}}
		o := player.Options{Node: new(tcpros.Node), Bags: make([]*player.Bag, 1), Rate: rate, Queue: -1} // so that it ends early
		_, err := player.Run(t.Context(), o)
		var invalid *control.OptionError
		if !errors.As(err, &invalid) {
			t.Fatal(err)
		}
		if accepted := invalid.Option != "Rate"; (c.Validate() == nil) != accepted {
			t.Errorf("rate %g: config says %v, player %v", rate, c.Validate(), err)
		}
	}
}
