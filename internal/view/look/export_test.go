package look

// Want is what a request does first.
func (w *Watcher) Want(topic string, paths ...string) { w.want(topic, paths...) }

// KeptText returns how many values of a field are kept, and the bytes of their texts.
func (w *Watcher) KeptText(topic, path string) (values, bytes int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, v := range w.topics[topic].fields[path].values {
		bytes += len(v.text)
	}
	return len(w.topics[topic].fields[path].values), bytes
}
