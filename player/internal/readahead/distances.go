package readahead

import (
	"math/rand/v2"
	"slices"
	"time"
)

// maxDistances bounds the memory of distances. In the order of all distances, the median of so
// many is about one percent away from the middle.
const maxDistances = 4096

// distances finds the median distance of successive messages. It keeps all distances of a
// short pass, and a sample of maxDistances of a longer one. The same distances in the same
// order have the same sample, so that all passes of a loop take equally long.
type distances struct {
	source rand.PCG
	added  int
	sample []time.Duration
}

func newDistances() distances { return distances{sample: make([]time.Duration, 0, maxDistances)} }

// reset forgets all distances.
func (d *distances) reset() {
	d.source.Seed(0, 0)
	d.added, d.sample = 0, d.sample[:0]
}

// add adds a distance. Each one that was added is as likely as any other to be in the sample.
func (d *distances) add(distance time.Duration) {
	d.added++
	if len(d.sample) < maxDistances {
		d.sample = append(d.sample, distance)
	} else if i := d.source.Uint64() % uint64(d.added); i < maxDistances {
		d.sample[i] = distance
	}
}

// median returns the median, the lower one of an even number; 0 if there is none.
func (d *distances) median() time.Duration {
	if len(d.sample) == 0 {
		return 0
	}
	slices.Sort(d.sample)
	return d.sample[(len(d.sample)-1)/2]
}
