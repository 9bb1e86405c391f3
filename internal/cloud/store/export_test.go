package store

import "time"

// RetryAfter sets the first wait before another try. Call it before the first read.
func (o *Object) RetryAfter(d time.Duration) { o.cache.RetryAfter(d) }
