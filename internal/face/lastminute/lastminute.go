// Package lastminute keeps the rates of the last minute, one for each second.
//
// Decisions: ADR 0069.
package lastminute

// Seconds is the number of rates in a Rates.
const Seconds = 60

// Rates are the rates of one topic. The zero value has no rate. A Rates occupies 496 bytes.
type Rates struct {
	values [Seconds]float64 // by second modulo Seconds
	first  int64            // the second of the first rate
	next   int64            // the second after the last rate; zero while there is no rate
}

// Add sets the rate of a second, which is not negative, and also of all seconds before it that have
// no rate yet, since samples may come late. A second before the second of the last rate is ignored.
func (r *Rates) Add(second int64, rate float64) {
	if r.next == 0 {
		r.first, r.next = second, second
	}
	if second < r.next-1 {
		return
	}
	for s := min(second, max(r.next, second-Seconds+1)); s <= second; s++ {
		r.values[s%Seconds] = rate
	}
	r.next = second + 1
}

// oldest returns the first second whose rate is still available.
func (r *Rates) oldest() int64 { return max(r.first, r.next-Seconds) }

// Over reports whether at a second no rate is left: the last one is older than a minute.
func (r *Rates) Over(second int64) bool { return second-r.next >= Seconds }

// Values returns the rates, the oldest first.
func (r *Rates) Values() []float64 {
	all := make([]float64, 0, Seconds)
	for s := r.oldest(); s < r.next; s++ {
		all = append(all, r.values[s%Seconds])
	}
	return all
}

// Means returns at most n means, the oldest first. n divides Seconds. A mean is over the same
// seconds in each call, so that a curve moves in steps and keeps its shape; the last mean, and the
// first, may be over fewer seconds.
func (r *Rates) Means(n int) []float64 {
	step := Seconds / int64(n)
	means := make([]float64, 0, n)
	if r.next == 0 {
		return means
	}
	last := (r.next - 1) / step
	for part := max(r.oldest()/step, last-int64(n)+1); part <= last; part++ {
		from, to := max(part*step, r.oldest()), min((part+1)*step, r.next)
		sum := 0.0
		for s := from; s < to; s++ {
			sum += r.values[s%Seconds]
		}
		means = append(means, sum/float64(to-from))
	}
	return means
}
