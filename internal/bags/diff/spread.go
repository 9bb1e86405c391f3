package diff

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/gorosbag/gorosbag/rosbag"
)

// maxSamples is how many differences of time of a stream are kept for percentiles. Of a stream with more
// messages they are a random sample.
const maxSamples = 1 << 13

// spread is how far the times of a stream differ between the bags.
type spread struct {
	count, identical uint64
	least, most      extreme
	sample           []time.Duration
	random           *rand.Rand // nil while sample has all differences
}

// extreme is the pair of messages whose times differ most in one direction.
type extreme struct {
	by     time.Duration // the time in B minus the time in A
	number uint64        // of the message in A
	time   rosbag.Time   // in A
}

// add adds a pair: the message of A with this number and the time at, and one of B that is later by by.
func (s *spread) add(by time.Duration, number uint64, at rosbag.Time) {
	if s.count == 0 || by < s.least.by {
		s.least = extreme{by, number, at}
	}
	if s.count == 0 || by > s.most.by {
		s.most = extreme{by, number, at}
	}
	if by == 0 {
		s.identical++
	}
	s.count++
	if len(s.sample) < maxSamples {
		s.sample = append(s.sample, by)
		return
	}
	if s.random == nil {
		s.random = rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same sample each time
	}
	if i := s.random.Uint64N(s.count); i < maxSamples {
		s.sample[i] = by
	}
}

// furthest returns the pair whose difference is furthest from center, and how far that is.
func (s *spread) furthest(center time.Duration) (time.Duration, extreme) {
	if s.count == 0 {
		return 0, extreme{}
	}
	low, high := (s.least.by - center).Abs(), (s.most.by - center).Abs()
	if low > high {
		return low, s.least
	}
	return high, s.most
}

// weighted is a difference in a sample.
type weighted struct {
	by     time.Duration
	weight float64 // the number of differences of the stream that it stands for
}

// appendSample adds the sample to those of other streams.
func (s *spread) appendSample(list []weighted) []weighted {
	for _, by := range s.sample {
		list = append(list, weighted{by, float64(s.count) / float64(len(s.sample))})
	}
	return list
}

// percentiles sorts list, and returns for each part, such as 0.99, the difference that this part of list does
// not exceed.
func percentiles(list []weighted, parts ...float64) []time.Duration {
	slices.SortFunc(list, func(a, b weighted) int { return cmp.Compare(a.by, b.by) })
	var total float64
	for _, w := range list {
		total += w.weight
	}
	all := make([]time.Duration, len(parts))
	for i, part := range parts {
		rest := math.Ceil(part * total)
		for _, w := range list {
			all[i] = w.by
			if rest -= w.weight; rest <= 0 {
				break
			}
		}
	}
	return all
}
