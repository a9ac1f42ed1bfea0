// The suite imports globSync from fs, which exists since Node 22. The gate does not run the
// command that uses it, so these hooks add an empty globSync to older versions of Node.
import { register } from 'node:module';

const hooks = `
const stub = 'node:fs-with-glob';
const source = 'import fs from "node:fs"; export * from "node:fs"; export default fs; export const globSync = () => [];';

export async function resolve(specifier, context, next) {
  const wanted = specifier === 'fs' || specifier === 'node:fs';
  if (wanted && context.parentURL?.includes('/conformance/dist/')) return { url: stub, shortCircuit: true };
  return next(specifier, context);
}

export async function load(url, context, next) {
  return url === stub ? { format: 'module', shortCircuit: true, source } : next(url, context);
}
`;

register('data:text/javascript,' + encodeURIComponent(hooks));
