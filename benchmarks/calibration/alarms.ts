export async function alarms(): Promise<string[][]> {
  return []
}
