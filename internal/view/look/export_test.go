package look

// Want is what a request does first.
func (w *Watcher) Want(topic string, paths ...string) { w.want(topic, paths...) }
