package picture

import "fmt"

// compressed makes the picture of a message with the fields of sensor_msgs/CompressedImage.
func (r *Reader) compressed(payload []byte, _ Options) (*Picture, error) {
	format, _, err := r.lookup(payload)
	if err != nil {
		return nil, err
	}
	return nil, fmt.Errorf("format %q %w", format, ErrUnknown)
}
