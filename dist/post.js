// The action's post entry: the bundle of main, told that it is post. Copied beside the bundle as it is.
process.argv[2] = 'post';
await import('./index.js');
export {};
