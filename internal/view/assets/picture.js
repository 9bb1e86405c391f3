export function picturePanel() {}
